package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// Hooks may have to ask other processes, which take their time: validation functions and map functions are JavaScript.
// A transaction must not wait for them: it would become too old, and everybody's commits would go past it. So hooks ask
// questions. A transaction that lacks answers writes nothing of the documents in question; the questions are answered
// when it has ended, and it runs again. There every answer is looked up by the very question, so that one about
// documents, functions or settings that have changed since is simply not found, and the new question is answered for
// the next run.

// Question names what is asked: a hash of all that the answer depends on.
type Question [sha256.Size]byte

// Asker answers questions.
type Asker interface {
	// Answer answers questions, as they were given to Tx.Ask, in order. It runs outside of transactions. An error ends
	// the request that wanted to know.
	Answer(ctx context.Context, questions []any) (answers []any, err error)
}

// ErrPending is what a hook returns for a document that it has no answer for yet.
var ErrPending = errors.New("storage: a question has to be answered first")

// Ask returns the answer to a question, or ErrPending if it is not known yet: then by is given what about returns,
// which has to stay valid when the transaction has ended. Only the hooks of Update and Purge can ask.
func (x *Tx) Ask(q Question, by Asker, about func() any) (answer any, err error) {
	s := x.t.questions
	if s == nil {
		return nil, errors.New("storage: nobody can be asked in this transaction")
	}
	if answer, known := s.answers[q]; known {
		s.use(q, answer)
		return answer, nil
	}
	if !s.asked[q] {
		if s.asked == nil {
			s.asked = make(map[Question]bool)
		}
		s.asked[q] = true
		s.open = append(s.open, question{q, by, about()})
	}
	return nil, ErrPending
}

// questions are those of one request, across its transactions. The zero value has none.
type questions struct {
	answers map[Question]any
	used    map[Question]any // of answers, those that were looked up since the last commit
	asked   map[Question]bool
	open    []question // asked in the last run
}

type question struct {
	key   Question
	by    Asker
	about any
}

func (s *questions) use(q Question, answer any) {
	if s.used == nil {
		s.used = make(map[Question]any)
	}
	s.used[q] = answer
}

// begin forgets what an earlier run asked.
func (s *questions) begin() {
	clear(s.asked)
	s.open = nil
}

// committed forgets answers that the transactions since the last commit had no use for.
func (s *questions) committed() {
	s.answers, s.used = s.used, s.answers
	clear(s.used)
}

const (
	// answerTime is how long questions are answered before what is known is committed.
	answerTime = time.Second
	// maxAnswers is how many questions are answered together at most.
	maxAnswers = 64
)

// answer answers what is open, in order: all of it, or, with within > 0, as much as fits in that time, but at least
// one. It tells what part of it that was. Questions are put together by their Asker, and more of them the faster the
// answers come, so that slow ones do not overrun the time.
func (s *questions) answer(ctx context.Context, now func() time.Time, within time.Duration) (part float64, err error) {
	began, total := now(), len(s.open)
	for size := maxAnswers / 8; len(s.open) > 0; {
		last := now()
		if within > 0 && last.Sub(began) >= within && len(s.open) < total {
			return float64(total-len(s.open)) / float64(total), nil
		}
		some := s.open[:min(size, len(s.open))]
		s.open = s.open[len(some):]
		for len(some) > 0 {
			if some, err = s.answerSome(ctx, some); err != nil {
				return 0, err
			}
		}
		if now().Sub(last) < answerTime/8 {
			size = min(2*size, maxAnswers)
		} else {
			size = max(size/2, 1)
		}
	}
	return 1, nil
}

// answerSome answers those questions that have the Asker of the first one, and returns the others.
func (s *questions) answerSome(ctx context.Context, some []question) (others []question, err error) {
	var keys []Question
	var about []any
	by := some[0].by
	for _, q := range some {
		if q.by == by {
			keys, about = append(keys, q.key), append(about, q.about)
		} else {
			others = append(others, q)
		}
	}
	answers, err := by.Answer(ctx, about)
	if err != nil {
		return nil, err
	}
	if s.answers == nil {
		s.answers = make(map[Question]any)
	}
	for i, key := range keys {
		s.answers[key] = answers[i]
	}
	return others, nil
}
