//go:build !linux

package file_test

import "testing"

func startOnSmallDisk(*testing.T, string) (*process, bool) { return nil, false }

func startWithFileLimit(*testing.T, string) (*process, bool) { return nil, false }

func platformChild(string, []string) (known bool, err error) { return false, nil }
