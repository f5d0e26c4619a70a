//go:build unix && race

package crash_test

// slowed: the race detector is on, and everything takes several times as long.
const slowed = true
