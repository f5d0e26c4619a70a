// Package cases reads and runs the test cases that stand in a file beside a
// workflow: hello.test.yaml is about hello.yaml. docs/testing.md describes the
// format.
package cases
