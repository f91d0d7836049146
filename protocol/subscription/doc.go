// Package subscription is who wants to be told of what, and what there is to tell.
//
//	modern   subscriptions/listen is open as long as the client listens     Set.Open, Subscription
//	legacy   a session hears of all lists, and of what it subscribed to     Set.Subscribe
//
// Whoever tells of a change never waits for those who hear it: news are gathered in each Subscription, of which the
// listening request takes them when it can. A slow client hears how things stand, and not of every step.
//
// This package is internal to Sallyport and may change.
package subscription
