//go:build unix && !race

package crash_test

const slowed = false
