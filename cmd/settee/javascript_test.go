package main

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConfinementIsTold: the log says what confines JavaScript workers, and warns where nothing can.
func TestConfinementIsTold(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	sayConfined(log, "linux", "seccomp")
	require.Contains(t, out.String(), `level=INFO msg="JavaScript workers are confined" by=seccomp`)
	sayConfined(log, "windows", "nothing")
	require.Contains(t, out.String(), `level=WARN msg="JavaScript workers are not confined`)
	require.Contains(t, out.String(), "system=windows")
}
