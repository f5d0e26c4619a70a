// Package handle holds what every store of one machine keeps about itself: the calls
// under way, whether the handle was closed or poisoned, and the damage it came upon.
package handle

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/culm-dev/culm/store"
)

// State is the state of one handle. The zero value is open and unharmed. Its methods
// are safe for concurrent use.
type State struct {
	mu       sync.Mutex
	closed   bool
	poison   error
	inFlight sync.WaitGroup    // calls under way
	damaged  map[string]string // reasons, by stream
}

// NewID makes a name that no other handle, and nothing else, has.
func NewID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make id: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// Begin opens a call, which End must follow, or is [store.ErrClosed].
func (s *State) Begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	s.inFlight.Add(1)
	return nil
}

// End ends a call that Begin opened.
func (s *State) End() { s.inFlight.Done() }

// Close lets no call begin any more, waits for those under way, and reports whether
// that was done before.
func (s *State) Close() (already bool) {
	s.mu.Lock()
	already = s.closed
	s.closed = true
	s.mu.Unlock()
	s.inFlight.Wait()
	return already
}

// Poisoned is the error of every commit from now on, nil if there is none.
func (s *State) Poisoned() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.poison
}

// Poison makes the first cause given that error, and returns it.
func (s *State) Poison(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.poison == nil {
		s.poison = fmt.Errorf("%w: %w", store.ErrPoisoned, cause)
	}
	return s.poison
}

// maxDamaged is how many damaged streams are remembered: a courtesy, not worth more
// memory.
const maxDamaged = 10_000

// NoteDamage remembers damage that was found in a journal, for Head to tell. Other
// errors are none.
func (s *State) NoteDamage(err error) {
	var d *store.DamagedError
	if !errors.As(err, &d) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.damaged == nil {
		s.damaged = make(map[string]string)
	}
	if len(s.damaged) < maxDamaged {
		s.damaged[d.Stream] = d.Reason
	}
}

// KnownDamage is why a stream is damaged, "" if nothing is known of that.
func (s *State) KnownDamage(stream string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damaged[stream]
}

// ForgetDamage makes the handle know of no damage.
func (s *State) ForgetDamage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.damaged)
}
