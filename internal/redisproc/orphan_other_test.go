//go:build !linux

package redisproc_test

const orphansEnd = false
