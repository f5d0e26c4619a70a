//go:build !linux && !darwin

package proc

// Stopped reports whether a process lives and is stopped. Here that is not known.
func Stopped(int) bool { return false }

// zombie reports whether a process has ended and only waits to be reaped. Here that
// is not known.
func zombie(int) bool { return false }
