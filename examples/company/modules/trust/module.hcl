# Whom the host trusts: our own authority, beside Debian's collection.
package "ca-certificates" {}
package "openssl" {}

ca_certificate "example-shop" {
  certificate = file("files/internal-ca.pem")
  after       = [package.ca-certificates]
}
directory "/etc/ssl/shop" {
  group = "ssl-cert"
  mode  = "0750"
  after = [package.ssl-cert]
}
package "ssl-cert" {}
