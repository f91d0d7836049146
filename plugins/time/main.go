// Time is a Sallyport plugin for times in all time zones: current time, conversion between zones, differences and
// calendar arithmetic. It requires no grant: the zone database is built in.
package main

import (
	_ "time/tzdata" // a sandbox has no zone files

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

var plugin = sallyport.New("time", "1.0.0",
	sallyport.Description("The time anywhere: now, conversion between zones, differences, calendar arithmetic."),
	sallyport.Want("config", map[string]string{"TIMEZONE": "Europe/Berlin"}, "the zone to use when a call names none; UTC otherwise"),
	sallyport.Tool("now", "Gets the current date and time, in one or several time zones.", now, closed("Current time")...),
	sallyport.Tool("convert", "Converts a date and time to other time zones.", convert, closed("Convert between zones")...),
	sallyport.Tool("difference", "Measures the time between two moments, exactly and in calendar units.", difference, closed("Time between")...),
	sallyport.Tool("add", "Adds a duration to a moment, or subtracts it: hours and minutes exactly, days to years by the calendar.", add, closed("Add a duration")...),
	sallyport.Tool("zones", "Finds time zones by a part of their name, with their present offset.", zones, closed("Find time zones")...),
)

func closed(title string) []sallyport.Option {
	return []sallyport.Option{sallyport.Title(title), sallyport.ReadOnly(), sallyport.OpenWorld(false)}
}

func init() { plugin.Serve() }

func main() {}
