//go:build race

package js

import "time"

// hostileTime is longer where everything is slower.
const hostileTime = 8 * time.Second
