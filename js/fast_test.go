//go:build !race

package js

import "time"

// hostileTime is the time that hostile functions get.
const hostileTime = 2 * time.Second
