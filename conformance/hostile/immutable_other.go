//go:build !linux

package main

import "errors"

func setImmutable(string, bool) error { return errors.ErrUnsupported }
