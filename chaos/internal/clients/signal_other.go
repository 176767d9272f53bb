//go:build !unix

package clients

import (
	"errors"
	"os"
	"os/exec"
)

func canFreeze() error { return errors.New("this system has no signal that stops a process") }

func freeze(*os.Process) error { return canFreeze() }

func thaw(*os.Process) error { return canFreeze() }

func detach(*exec.Cmd) {}
