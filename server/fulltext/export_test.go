package fulltext

// SetHitsTogether sets how many hits of _nouveau are in memory at a time, and gives what sets it
// back.
func SetHitsTogether(n int64) func() {
	before := hitsTogether
	hitsTogether = n
	return func() { hitsTogether = before }
}
