package conformance

import (
	"context"
	"fmt"
)

// StepResult is the verdict on one step.
type StepResult struct {
	Step    int // its number in the scenario, from 0
	Label   string
	Verdict Verdict
	Want    *Answer // both normalised
	Got     *Answer
}

// Agrees reports whether the answer is as good as the recorded one: the same bytes, or a clear
// error where the real server crashed. The same JSON in other bytes is not enough, for clients that
// cut streams into lines or take the first member.
func (s *StepResult) Agrees() bool {
	return s.Verdict == Exact || s.Verdict == JSON && s.Want.isCrash()
}

// Diff shows what was wanted and what came.
func (s *StepResult) Diff() string {
	return fmt.Sprintf("#%d %s: %s\n  want %s\n  got  %s", s.Step, s.Label, s.Verdict, s.Want, s.Got)
}

// Replay performs the scenario on the server at addr and judges each step by the recorded answers.
// nodes are the addresses of the servers that addr leads to, if it leads to several of one store.
func Replay(ctx context.Context, addr string, sc *Scenario, nodes ...string) ([]StepResult, error) {
	var results []StepResult
	err := perform(ctx, NewRun(addr, nodes...), sc, func(i int, st *Step, got *Answer) {
		results = append(results, StepResult{i, st.Label(), Judge(st.Expect, got, st), st.Expect, got})
	})
	return results, err
}

// Record performs the scenario on the server at addr and makes its answers the recorded ones.
func Record(ctx context.Context, addr string, sc *Scenario) error {
	return perform(ctx, NewRun(addr), sc, func(_ int, st *Step, got *Answer) { st.SetExpect(got) })
}

// Compare performs the scenario on two servers, first on the one at reference, and judges the
// answers of the one at addr by those of the reference instead of the recorded ones.
func Compare(ctx context.Context, addr, reference string, sc *Scenario) ([]StepResult, error) {
	want := map[int]*Answer{}
	err := perform(ctx, NewRun(reference), sc, func(i int, _ *Step, got *Answer) { want[i] = got })
	if err != nil {
		return nil, err
	}
	var results []StepResult
	err = perform(ctx, NewRun(addr), sc, func(i int, st *Step, got *Answer) {
		results = append(results, StepResult{i, st.Label(), Judge(want[i], got, st), want[i], got})
	})
	return results, err
}

// perform does all steps of the scenario and hands each judged step's normalised answer to judge.
func perform(ctx context.Context, run *Run, sc *Scenario, judge func(i int, st *Step, got *Answer)) error {
	defer run.Cleanup(context.WithoutCancel(ctx))
	for i, st := range sc.Steps {
		answer, err := run.Perform(ctx, st)
		if err != nil {
			return fmt.Errorf("%s #%d: %w", sc.Name, i, err)
		}
		if !st.Judged() {
			continue
		}
		got, err := run.Normalize(answer, st)
		if err != nil {
			return fmt.Errorf("%s #%d: %w", sc.Name, i, err)
		}
		judge(i, st, got)
	}
	return nil
}
