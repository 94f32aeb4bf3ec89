//go:build race

package js

import "time"

// hostileTime is longer where everything is slower.
const hostileTime = 8 * time.Second

// raceDetector says that the race detector is there, which takes memory of workers and ends them
// without a word.
const raceDetector = true
