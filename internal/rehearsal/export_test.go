package rehearsal

// AtWork is how many are at work, as far as the clock was told.
func (c *Clock) AtWork() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.working
}
