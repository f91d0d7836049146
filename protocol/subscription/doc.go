// Package subscription tracks client subscriptions and builds their notifications.
//
//	modern   subscriptions/listen stays open while the client listens         Set.Open, Subscription
//	legacy   a session receives all list changes and its subscribed resources   Set.Subscribe
//
// Reporting a change never blocks on a listener: changes are collected in each Subscription and fetched by its
// request. A slow client gets the latest state instead of every step.
//
// This package is internal to Sallyport and may change.
package subscription
