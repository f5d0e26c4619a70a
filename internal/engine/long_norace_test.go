//go:build !race

package engine_test

// longSteps is how many steps a long run has.
const longSteps = 10_000
