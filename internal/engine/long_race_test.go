//go:build race

package engine_test

// longSteps is how many steps a long run has. The race detector makes ten thousand
// of them take minutes.
const longSteps = 1_500
