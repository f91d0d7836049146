use strict; use warnings; use MIME::Base64; use JSON::PP; use Encode qw(decode);
my $ascii = JSON::PP->new->ascii->allow_nonref; my $say = JSON::PP->new->ascii;
while (my $line = <STDIN>) {
    chomp $line; my $v = pack('H*', $line); my $s = decode('UTF-8', $v);
    my %out = (json => substr($ascii->encode($s), 1, -1), hex => unpack('H*', $v), HEX => uc unpack('H*', $v), b64 => encode_base64($v, ''), 'b64 lines' => encode_base64($v), vec => sprintf('%vd', '') . '');
    delete $out{vec};
    ($out{percent} = $v) =~ s/([^A-Za-z0-9\-\._~])/sprintf("%%%02X", ord $1)/ge;
    ($out{'percent low'} = $v) =~ s/([^A-Za-z0-9])/sprintf("%%%02x", ord $1)/ge;
    ($out{braces} = $s) =~ s/([^A-Za-z0-9 ])/sprintf("\\x{%x}", ord $1)/ge;
    ($out{octal} = $v) =~ s/([^A-Za-z0-9 ])/sprintf("\\%03o", ord $1)/ge;
    ($out{quotemeta} = quotemeta $v); $out{quotemeta} = decode('UTF-8', $v); $out{quotemeta} =~ s/([^A-Za-z0-9_\x80-\x{10ffff}])/\\$1/g;
    ($out{html} = $s) =~ s/([<>&"'\x80-\x{10ffff}])/sprintf("&#%d;", ord $1)/ge;
    print $say->encode([$line, $_, $out{$_}]), "\n" for sort keys %out;
}
