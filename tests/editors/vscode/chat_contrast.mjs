// All states of the chat in the high contrast theme.
// req: H9
import { playStates } from "./chat_states.mjs";

await playStates("Default High Contrast");
