package hosttest

import "testing"

func (s suite) commands(t *testing.T) {}
func (s suite) accounts(t *testing.T) {}
