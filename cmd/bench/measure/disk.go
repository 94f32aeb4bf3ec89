package measure

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
	diskAtMost  = 45 * time.Second // then it is measured, settled or not
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

// settledDiskUsage waits until the directory has not changed for a time and returns its size.
func settledDiskUsage(ctx context.Context, dir string, steady time.Duration) (int64, error) {
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
		if time.Since(since) >= steady || time.Since(start) >= diskAtMost {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(diskPoll):
		}
	}
}
