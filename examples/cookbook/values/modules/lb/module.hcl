# The load balancer needs the addresses of all targets with the module web.
exported "backends" {
  module   = "web"
  output   = "address"
  at_least = 1
}

file "/etc/backends" {
  content = "%{for name, address in exported.backends}server ${name} ${address}:80\n%{endfor}"
}

check "backends" {
  exec = "grep -q '^server web' /etc/backends"
}
