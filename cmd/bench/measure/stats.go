package measure

import "slices"

// Ratio is how many times better A is than B over several pairs of rounds.
type Ratio struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// median returns the middle value, the mean of both middle values of an even number, 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// ratioOf compares the rounds pairwise. It returns nil when there is nothing to compare.
func ratioOf(a, b []float64, lessIsBetter bool) *Ratio {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		over, under := a[i], b[i]
		if lessIsBetter {
			over, under = under, over
		}
		if under > 0 {
			ratios = append(ratios, over/under)
		}
	}
	if len(ratios) == 0 {
		return nil
	}
	return &Ratio{Median: median(ratios), Min: slices.Min(ratios), Max: slices.Max(ratios)}
}
