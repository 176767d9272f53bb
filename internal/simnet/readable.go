package simnet

// Readable reports whether a Read would return at once.
func (c *conn) Readable() bool { return c.down.readable() }

// readable reports whether bytes or the end have arrived.
func (h *half) readable() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead != nil || len(h.segs) == 0 {
		return h.dead != nil
	}
	s := &h.segs[0]
	return s.here || due(s.at) && !h.cut() && (!s.held || h.writing())
}
