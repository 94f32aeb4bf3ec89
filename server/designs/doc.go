// Package designs serves functions of design documents. Package server/rewrite knows rewrite rules,
// package js runs functions.
//
//	show.go                _show
//	list.go, listrun.go    _list: the request; the conversation with the function
//	update.go              _update
//	rewrite.go             _rewrite
//	trial.go, triallist.go  _design_test: functions that are not stored, tried; list functions
//	call.go, response.go   how a function is called, and what becomes of its response
//	routes.go              the rows of the route table
package designs
