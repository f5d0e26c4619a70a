//go:build !linux && !darwin

package sqlite

// networkFS cannot tell on this platform.
func networkFS(string) (string, error) { return "", nil }
