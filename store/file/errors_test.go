package file_test

import "errors"

func isError(err, want error) bool { return errors.Is(err, want) }

func asError[T error](err error, target *T) bool { return errors.As(err, target) }
