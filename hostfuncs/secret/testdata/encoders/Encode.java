import java.io.*;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.*;

class Encode {
    static String hex(byte[] v, String form) {
        StringBuilder b = new StringBuilder();
        for (byte x : v) b.append(String.format(form, x & 0xff));
        return b.toString();
    }

    static void say(String line, String name, String text) {
        StringBuilder b = new StringBuilder();
        for (char c : text.toCharArray()) b.append(String.format("\\u%04x", (int) c));
        System.out.println("[\"" + line + "\",\"" + name + "\",\"" + b + "\"]");
    }

    public static void main(String[] a) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            byte[] v = HexFormat.of().parseHex(line);
            String s = new String(v, StandardCharsets.UTF_8);
            StringBuilder props = new StringBuilder(), octal = new StringBuilder(), xml = new StringBuilder();
            for (char c : s.toCharArray()) {
                if (c < 0x80) props.append(c == '\\' || c == '=' || c == ':' || c == '#' || c == '!' || c == ' ' ? "\\" + c : "" + c);
                else props.append(String.format("\\u%04X", (int) c));
                xml.append(switch (c) { case '&' -> "&amp;"; case '<' -> "&lt;"; case '>' -> "&gt;"; case '"' -> "&#34;"; case '\'' -> "&#39;"; default -> "" + c; });
            }
            for (byte x : v) octal.append(String.format("\\%03o", x & 0xff));
            say(line, "form", URLEncoder.encode(s, StandardCharsets.UTF_8));
            say(line, "uri", new URI("http", "h", "/" + s, null).toASCIIString().substring("http://h/".length()));
            say(line, "uri raw", new URI("http", "h", "/" + s, null).getRawPath().substring(1));
            say(line, "properties", props.toString());
            say(line, "octal", octal.toString());
            say(line, "xml", xml.toString());
            say(line, "form xml", URLEncoder.encode(xml.toString(), StandardCharsets.UTF_8));
            say(line, "hex", hex(v, "%02x"));
            say(line, "HEX", hex(v, "%02X"));
            say(line, "percent", hex(v, "%%%02x"));
            say(line, "x", hex(v, "\\x%02x"));
            say(line, "b64", Base64.getEncoder().encodeToString(v));
            say(line, "b64 url", Base64.getUrlEncoder().withoutPadding().encodeToString(v));
            say(line, "b64 mime", Base64.getMimeEncoder(20, "\r\n".getBytes()).encodeToString(v));
        }
    }
}
