//go:build !linux && !darwin

package proc

// Stopped reports whether a process lives and is stopped. Here that is not known.
func Stopped(int) bool { return false }
