package reduce

import (
	"math"
	"slices"
)

// maxLinear is the estimate up to which empty registers tell more than full ones.
const maxLinear = 1800

// estimate is the number of distinct keys that registers have seen (couch_hyper:card).
func estimate(registers *[registers]byte) int64 {
	const m = float64(len(registers))
	total, empty := 0.0, 0
	for _, v := range registers {
		total += math.Ldexp(1, -int(v))
		if v == 0 {
			empty++
		}
	}
	raw := 0.7213 / (1 + 1.079/m) * (m * m) / total
	if raw <= 5*m {
		raw -= bias(raw)
	}
	if empty == 0 {
		return int64(math.Round(raw))
	}
	if linear := m * math.Log(m/float64(empty)); linear <= maxLinear {
		return int64(math.Round(linear))
	}
	return int64(math.Round(raw))
}

// neighbours is how many measured estimates the bias is the mean of.
const neighbours = 6

// bias is how much a raw estimate is too high: the mean of the measured estimates that are nearest.
func bias(raw float64) float64 {
	nearest := make([]int, len(estimateData))
	for i := range nearest {
		nearest[i] = i
	}
	distance := func(i int) float64 { return (raw - estimateData[i]) * (raw - estimateData[i]) }
	slices.SortStableFunc(nearest, func(i, k int) int {
		switch a, b := distance(i), distance(k); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	total := 0.0
	for _, i := range nearest[:neighbours] {
		total += biasData[i]
	}
	return total / neighbours
}
