//go:build !unix

package main_test

func asHelper() {}

func heedSignals() {}
