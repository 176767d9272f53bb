//go:build unix

package main

import "os"

// interpretEscapes does nothing: the terminals of Unix interpret escape sequences.
func interpretEscapes(*os.File) (restore func()) { return func() {} }
