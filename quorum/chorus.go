package quorum

import "sync"

// chorus counts the nodes that had something to say, and passes it on when they are a majority.
type chorus struct {
	mu     sync.Mutex
	voices []bool
	count  int
	need   int
	heard  func()
}

func (c *chorus) hear(seat int) {
	c.mu.Lock()
	if !c.voices[seat] {
		c.voices[seat] = true
		c.count++
	}
	full := c.count >= c.need
	if full {
		clear(c.voices)
		c.count = 0
	}
	c.mu.Unlock()
	if full {
		c.heard()
	}
}
