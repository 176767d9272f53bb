//go:build !linux

package pulse

// processors needs threads that keep to one processor, which only Linux has.
func (x *watch) processors() {}
