//go:build !unix

package redisproc

import (
	"errors"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func freeze(int) error { return errors.ErrUnsupported }

func thaw(int) error { return errors.ErrUnsupported }

func killChildren(int) {}
