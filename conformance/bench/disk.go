package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

const (
	diskPoll    = 500 * time.Millisecond
	diskSteady  = 6 * time.Second  // as long unchanged, a directory counts as settled
	diskAtMost  = 45 * time.Second // then it is measured as it is
	diskChanged = 64 << 10         // a smaller change is none, in bytes
)

// diskUsage sums up the blocks of all files below dir, in bytes.
func diskUsage(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreGone(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			total += st.Blocks * 512
		}
		return nil
	})
	return total, err
}

// ignoreGone lets a walk go on when a file was deleted during it.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// settledDiskUsage waits until the directory does not change any more and returns its size.
func settledDiskUsage(ctx context.Context, dir string) (int64, error) {
	start := time.Now()
	last, since := int64(-1), start
	for {
		now, err := diskUsage(dir)
		if err != nil {
			return 0, fmt.Errorf("data directory: %w", err)
		}
		if last < 0 || max(now-last, last-now) > diskChanged {
			last, since = now, time.Now()
		}
		if time.Since(since) >= diskSteady || time.Since(start) >= diskAtMost {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(diskPoll):
		}
	}
}
