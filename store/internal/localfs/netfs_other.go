//go:build !linux && !darwin

package localfs

// networkFS cannot tell on this platform.
func networkFS(string) (string, error) { return "", nil }
