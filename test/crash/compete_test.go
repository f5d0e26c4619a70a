//go:build unix

package crash_test

import "context"

func compete(context.Context, task) error { return nil }
