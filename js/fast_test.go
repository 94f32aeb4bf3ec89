//go:build !race

package js

import "time"

// hostileTime is the time that hostile functions get.
const hostileTime = 2 * time.Second

// raceDetector says that the race detector is there, which takes memory of workers and ends them
// without a word.
const raceDetector = false
