fact "default_ipv4" { type = string }

output "address" {
  value    = fact.default_ipv4
  type     = string
  exported = true
}

file "/srv/health" { content = "ok\n" }
