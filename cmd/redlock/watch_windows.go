package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// interpretEscapes makes the console interpret escape sequences until restore.
func interpretEscapes(console *os.File) (restore func()) {
	handle := windows.Handle(console.Fd())
	var mode uint32
	if windows.GetConsoleMode(handle, &mode) != nil {
		return func() {}
	}
	_ = windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	return func() { _ = windows.SetConsoleMode(handle, mode) }
}
