//go:build !linux

package stalls

// processors needs threads that keep to one processor, which only Linux has.
func (d *detector) processors() {}
