package main

import "github.com/spf13/cobra"

func newInspect(stdio) *cobra.Command { return &cobra.Command{Use: "inspect"} }
func newPack(stdio) *cobra.Command    { return &cobra.Command{Use: "pack"} }
