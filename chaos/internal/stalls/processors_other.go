//go:build !linux

package stalls

// processors does nothing: only Linux can bind a thread to a processor.
func (d *detector) processors() {}
