//go:build !unix

package file

// readOnly cannot tell on this platform.
func readOnly(error) bool { return false }
