//go:build !linux && !darwin

package localfs

import "math"

// Free cannot tell on this platform.
func Free(string) (uint64, error) { return math.MaxUint64, nil }
