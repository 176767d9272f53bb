//go:build !linux

package traffic

import "sync"

// watchProcessors needs threads that keep to one processor, which only Linux has.
func (c *client) watchProcessors(<-chan struct{}, *sync.WaitGroup) {}
