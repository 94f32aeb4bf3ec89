// Command transcripts records, replays and compares wire transcripts (see package conformance):
// main.go has the command line and what is common to all, changes.go the report about a newer
// server.
//
//	transcripts record URL FILE...             perform the scenarios on URL and store what it answered in the files
//	transcripts changed URL FILE...            perform them and print what a newer server answers otherwise
//	transcripts replay URL FILE...             perform them on URL and compare with what is stored
//	transcripts compare URL REFERENCE FILE...  perform them on both servers and compare the answers
//
// replay and compare print a diff for each step that does not agree, a line for each scenario and
// the counts at the end; the exit status is 1 if a step differs. -only NAME restricts a run to the
// scenarios of that name, -json also shows steps of which only bytes or headers differ.
package main
